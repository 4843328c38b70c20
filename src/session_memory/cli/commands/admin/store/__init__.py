"""Check, rebuild, copy and back up the store.

Each of these commands works on the whole store. Other programs may use the store meanwhile.
"""
