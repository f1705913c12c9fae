"""How a process stands: its report, and what is made of it: metrics, `/status`, `/readyz` and `/healthz`."""
