"""The folder of plugins: one plugin for each agent, with its own hooks."""

import json
from pathlib import Path

PLUGINS = ("claude", "codex", "copilot", "gemini", "grok", "qwen")


def test_every_plugin_has_a_manifest_the_server_the_skill_and_its_own_hooks(tmp_path, answer):
    folder = tmp_path / "plugins"
    made = answer("plugin", str(folder))
    assert sorted(made["commands"]) == sorted(PLUGINS)
    assert sorted(made["files"]) == sorted(str(one) for one in folder.rglob("*") if one.is_file())
    for agent in PLUGINS:
        plugin = folder / "plugins" / agent
        texts = [one.read_text() for one in plugin.rglob("*.json")]
        values = [json.loads(text) for text in texts]
        assert [one["name"] for one in values if "version" in one] == ["session-memory"]
        (servers,) = [
            one["mcpServers"] for one in values if "session-memory" in one.get("mcpServers", ())
        ]
        assert servers["session-memory"]["args"] == ["mcp"]
        (hooks,) = [text for text in texts if " hook " in text]
        assert f" hook {agent} failure" in hooks
        assert (plugin / "skills" / "session-memory" / "SKILL.md").is_file()


def test_the_catalogs_lead_to_the_plugins(tmp_path, run) -> None:
    run("plugin", str(tmp_path / "p"))
    for name in (".claude-plugin", ".agents/plugins", ".github/plugin"):
        catalog = json.loads((tmp_path / "p" / name / "marketplace.json").read_text())
        (entry,) = catalog["plugins"]
        source = entry["source"]
        path = source if isinstance(source, str) else source["path"]
        assert (tmp_path / "p" / path / "hooks" / "hooks.json").is_file()


def test_a_second_time_brings_the_folder_up_to_date(tmp_path: Path, answer, run) -> None:
    folder = tmp_path / "p"
    assert answer("plugin", str(folder))["changed"]
    assert answer("plugin", str(folder))["changed"] == []
    old = folder / "plugins" / "claude" / "old.json"
    old.write_text("{}")
    assert answer("plugin", str(folder))["changed"] == [str(old)]
    answer("plugin", str(folder), "--hooks", "none")
    assert " hook " not in (folder / "plugins/codex/hooks/hooks.json").read_text()


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, run) -> None:
    (tmp_path / "mine.txt").write_text("x")
    refused = run("plugin", str(tmp_path))
    assert refused.exit_code == 1
    assert "not an empty directory" in refused.stderr
    assert [one.name for one in tmp_path.iterdir() if one.name != "home"] == ["mine.txt"]
