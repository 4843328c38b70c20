"""The pipeline from native logs to the store: discover, read, settle, write.

The only room that knows both adapters and the store.
"""
