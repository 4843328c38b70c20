"""One module for each agent."""

from real_agents.agent import Agent
from real_agents.drivers import claude, codex, copilot, gemini, grok, opencode, pi, qwen

AGENTS: tuple[Agent, ...] = (
    claude.Claude(),
    codex.Codex(),
    grok.Grok(),
    gemini.Gemini(),
    qwen.Qwen(),
    copilot.Copilot(),
    opencode.OpenCode(),
    pi.Pi(),
)
