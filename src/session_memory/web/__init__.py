"""The web page: what agents did, what it cost, what went wrong, which logs are deleted soon.

The server listens on this machine only. Pages are HTML from templates; a few small scripts fetch
parts of pages and follow changes. Every answer comes from `Memory` and the views.
"""
