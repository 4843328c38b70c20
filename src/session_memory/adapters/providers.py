"""Names of models that say who sells them, for agents that log the provider of a response.

The price of a model depends on who sells it. A maker's own model keeps its name.
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
    """``seller/model`` if the provider sells models of others, else the model as logged."""
    return f"{provider}/{model}" if provider in SELLERS else model
