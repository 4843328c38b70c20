from session_memory.conformance.drivers.opencode import OpenCode
from session_memory.conformance.place import AgentPlace


class Kilo(OpenCode):
    """A fork of opencode with the same options and settings under its own name."""

    name, title, program = "kilo", "Kilo", "kilo"
    package = "@kilocode/cli"
    plugin = "@kilocode/plugin"
    logs = (".local/share/kilo",)
    # Unlike opencode, Kilo does not go on by itself after a compaction.
    known = {
        **{name: known for name, known in OpenCode.known.items() if "compact" not in name},
        "fork_subagent": {"sessions": "a fork copies each subagent as a session of its own"},
    }
    sometimes = {
        "cut": {"script": "when a stream is cut, Kilo asks again in some runs and ends in others"}
    }

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "KILO_DISABLE_AUTOUPDATE": "1",
            "KILO_DISABLE_MODELS_FETCH": "1",
            "KILO_DISABLE_LSP_DOWNLOAD": "1",
            "KILO_DISABLE_SESSION_INGEST": "1",
            "KILO_DISABLE_SHARE": "1",
        }
