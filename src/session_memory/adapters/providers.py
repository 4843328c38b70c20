"""Add the seller to the name of a model, for agents that log the provider of a response.

The price of a model depends on who sells it. A model that its own maker sells keeps its name.
"""

# Providers that sell models of others, in the spelling of the agents that log them.
SELLERS = frozenset(
    {
        *(
            "amazon-bedrock",
            "azure",
            "azure-openai-responses",
            "cerebras",
            "fireworks",
            "github-copilot",
        ),
        *("google-vertex", "groq", "openrouter", "together"),
    }
)


def model_sold_by(provider: str, model: str) -> str:
    """Return ``provider/model`` if the provider sells models of other makers, else ``model``."""
    return f"{provider}/{model}" if provider in SELLERS else model
