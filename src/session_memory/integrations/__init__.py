"""Integrations: sessions for other frameworks, over the live store. Each needs its extra."""
