"""The collations that Spark knows. Pure."""

from typing import Final

_LOCALES: Final = """
    UNICODE af am ar ar_SAU as az be bg blo bn bo br bs bs_Cyrl ca ceb chr cs cy da de de_AUT dsb dz ee
    el en en_USA eo es et fa fa_AFG ff ff_Adlm fi fil fo fr fr_CAN fy ga gl gu ha haw he he_ISR hi hr hsb
    hu hy id id_IDN ig is it ja ka kk kk_Arab kl km kn ko kok ku ky lb lij lkt ln lo lt lv mk ml mn mr ms
    mt my nb nb_NOR ne nl nn no nso om or pa pa_Guru pa_Guru_IND pl ps pt ro ru sa se si sk sl smn sq sr
    sr_Cyrl sr_Cyrl_BIH sr_Cyrl_MNE sr_Cyrl_SRB sr_Latn sr_Latn_BIH sr_Latn_SRB st sv sw ta te th tk tn
    to tr ug uk ur uz vi wae wo xh yi yo zh zh_Hans zh_Hans_CHN zh_Hans_SGP zh_Hant zh_Hant_HKG
    zh_Hant_MAC zh_Hant_TWN zu
"""
_NAMES: Final = frozenset(_LOCALES.lower().split())
_BY_BYTES: Final = frozenset(("utf8_binary", "utf8_lcase"))
_SUFFIXES: Final = {"ci": "case", "cs": "case", "ai": "accents", "as": "accents", "rtrim": "spaces"}
"""What may follow a locale, in any order → what it is about; of each kind one."""


def is_collation(name: str) -> bool:
    """Whether it is the name of a collation, as UTF8_LCASE, UNICODE_CI or de_CI_AI, in upper or lower case."""
    base, kinds = name.lower(), list[str]()
    while (suffix := base.rpartition("_")[2]) in _SUFFIXES and "_" in base:
        kinds.append(_SUFFIXES[suffix])
        base = base.rpartition("_")[0]
    if base in _BY_BYTES:
        return kinds in ([], ["spaces"])
    return base in _NAMES and len(kinds) == len(set(kinds))
