"""Mistakes in spec.kafka: brokers, properties, secrets."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

KAFKA: dict[str, Mistake] = {
    "brokers with a scheme": (
        "localhost:9092", f"kafka://a:9092 {HERE}", "spec.kafka.bootstrapServers", "without a scheme",
    ),
    "a broker without a port": ("localhost:9092", f"kafka {HERE}", "spec.kafka.bootstrapServers", "Write host:port"),
    "an impossible port": ("localhost:9092", f"kafka:99999 {HERE}", "spec.kafka.bootstrapServers", "99999 is no port"),
    "brokers as a list": (
        "localhost:9092", f"[a:9092, b:9092] {HERE}", "spec.kafka.bootstrapServers", "Separate the servers by commas",
    ),
    "a variable to be replaced": (
        "localhost:9092", f"${{BROKERS}} {HERE}", "spec.kafka.bootstrapServers", "${BROKERS} would not be replaced",
    ),
    "no brokers": (
        "    bootstrapServers: localhost:9092\n", "",
        "spec.kafka.bootstrapServers", "e.g. bootstrapServers: localhost:9092",
    ),
    "a property that Tandem owns": (
        "properties: {}\n    s", f"properties:\n      transactional.id: a {HERE}\n    s",
        "spec.kafka.properties[transactional.id]", "or fencing fails. Remove it",
    ),
    "a property with a field of its own": (
        "properties: {}\n    s", f"properties:\n      isolation.level: read_committed {HERE}\n    s",
        "spec.kafka.properties[isolation.level]", "Use spec.sources[].isolationLevel",
    ),
    "a property of Java": (
        "properties: {}\n    s", f"properties:\n      ssl.truststore.location: /a {HERE}\n    s",
        "spec.kafka.properties[ssl.truststore.location]", "ssl.ca.location",
    ),
    "a buffer that holds no record": (
        "properties: {}\n    s", f'properties:\n      queue.buffering.max.kbytes: "100" {HERE}\n    s',
        "spec.kafka.properties[queue.buffering.max.kbytes]", "Give 993 or more",
    ),
    "a misspelt property": (
        "properties: {}\n    s", f"properties:\n      security.protcol: SSL {HERE}\n    s",
        "spec.kafka.properties[security.protcol]", "Did you mean security.protocol?",
    ),
    "a property without quotes": (
        "properties: {}\n    s", f"properties:\n      socket.keepalive.enable: true {HERE}\n    s",
        "spec.kafka.properties[socket.keepalive.enable]", 'Put it in quotes: "true"',
    ),
    "an unknown protocol": (
        "properties: {}\n    s", f"properties:\n      security.protocol: SASL-SSL {HERE}\n    s",
        "spec.kafka.properties[security.protocol]", "Did you mean SASL_SSL?",
    ),
    "TLS settings without TLS": (
        "properties: {}\n    s", f"properties:\n      ssl.ca.location: /ca.pem {HERE}\n    s",
        "spec.kafka.properties[ssl.ca.location]", "Set security.protocol: SSL",
    ),
    "a password inline": (
        "properties: {}\n    s", f"properties:\n      sasl.password: geheim {HERE}\n    s",
        "spec.kafka.properties[sasl.password]", "secretProperties, e.g. sasl.password: {env: SASL_PASSWORD}",
    ),
    "a mechanism without a password": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u}\n"
        f"    secretProperties: {{}} {HERE}",
        "spec.kafka.secretProperties[sasl.password]", "sasl.mechanism PLAIN needs sasl.password",
    ),
    "a password without a mechanism": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.username: u}\n    secretProperties:\n"
        f"      sasl.password: {{env: P}} {HERE}",
        "spec.kafka.secretProperties[sasl.password]", "Set sasl.mechanism in properties to PLAIN",
    ),
    "a login without SASL": (
        "properties: {}\n    s", f"properties:\n      sasl.username: u {HERE}\n    s",
        "spec.kafka.properties[sasl.username]", "as security.protocol is PLAINTEXT. Set security.protocol: SASL_SSL",
    ),
    "an unknown mechanism": (
        "properties: {}\n    s", "properties:\n      security.protocol: SASL_SSL\n"
        f"      sasl.mechanism: SCRAM-SHA512 {HERE}\n    s",
        "spec.kafka.properties[sasl.mechanism]", "Did you mean SCRAM-SHA-512?",
    ),
    "a property given twice": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SSL, ssl.ca.pem: u}\n"
        f"    secretProperties:\n      ssl.ca.pem: {{env: U}} {HERE}",
        "spec.kafka.secretProperties[ssl.ca.pem]", "is also in spec.kafka.properties",
    ),
    "IAM of Amazon MSK": (
        "properties: {}", f"properties:\n      security.protocol: SASL_SSL\n      sasl.mechanism: AWS_MSK_IAM {HERE}",
        "spec.kafka.properties[sasl.mechanism]", "are not supported: use MSK's SASL/SCRAM",
    ),
    "a login of the Java client": (
        "properties: {}", f"properties:\n      sasl.client.callback.handler.class: a.B {HERE}",
        "spec.kafka.properties[sasl.client.callback.handler.class]", "(AWS_MSK_IAM) are not supported: use MSK",
    ),
    "a function": (
        "properties: {}", f"properties:\n      oauth_cb: mymodule.token {HERE}",
        "spec.kafka.properties.oauth_cb", "is a function of Python, which a manifest cannot hold",
    ),
    "tokens without a method": (
        "properties: {}",
        f"properties: {{security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER}} {HERE}",
        "spec.kafka.properties[sasl.oauthbearer.method]", "Set sasl.oauthbearer.method: oidc, which needs",
    ),
    "tokens of nobody": (
        "properties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER, "
        f"sasl.oauthbearer.method: default}} {HERE}",
        "spec.kafka.properties[sasl.oauthbearer.method]", "but sasl.oauthbearer.method is default",
    ),
    "tokens without their secret": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER, sasl.oauthbearer.method: oidc, "
        "sasl.oauthbearer.client.id: a, "
        f"sasl.oauthbearer.token.endpoint.url: 'https://a'}}\n    secretProperties: {{}} {HERE}",
        "spec.kafka.secretProperties[sasl.oauthbearer.client.secret]", "Add it to secretProperties, e.g. ",
    ),
    "a level of the log in words": (
        "properties: {}", f"properties:\n      log_level: INFO {HERE}",
        "spec.kafka.properties.log_level", "Write a number from 0 to 7",
    ),
    "debugging of what is not there": (
        "properties: {}", f"properties:\n      debug: broker, everything {HERE}",
        "spec.kafka.properties.debug", "'everything' is none of generic, broker, ",
    ),
    "statistics that nobody reads": (
        "properties: {}", f"properties:\n      statistics.interval.ms: '1000' {HERE}",
        "spec.kafka.properties[statistics.interval.ms]", "Use the metrics of the processes",
    ),
    "how far is read ahead": (
        "properties: {}", f"properties:\n      queued.min.messages: '1000' {HERE}",
        "spec.kafka.properties[queued.min.messages]", "Use spec.ordering.maxRecordsPerEpoch",
    ),
    "a secret property that Tandem owns": (
        "secretProperties: {}", f"secretProperties:\n      group.id: {{env: G}} {HERE}",
        "spec.kafka.secretProperties[group.id]", "not as a consumer group. Remove it",
    ),
    "a secret inline": (
        "secretProperties: {}", f"secretProperties:\n      ssl.key.password: geheim {HERE}",
        "spec.kafka.secretProperties[ssl.key.password]", "{env: NAME} or {file: path}",
    ),
    "a secret from two places": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SSL}\n    secretProperties:\n"
        f"      ssl.key.password: {{env: A, file: /b}} {HERE}",
        "spec.kafka.secretProperties[ssl.key.password]", "env and file exclude each other",
    ),
    "a secret from nowhere": (
        "properties: {}\n    secretProperties: {}",
        f"properties: {{security.protocol: SSL}}\n    secretProperties:\n      ssl.key.password: {{}} {HERE}",
        "spec.kafka.secretProperties[ssl.key.password]", "says nothing of where the secret is",
    ),
}  # fmt: skip
