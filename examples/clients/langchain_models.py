"""LangChain with OpenAI's and Anthropic's classes. GATEWAY is the address of the gateway, GATEWAY_KEY one of its keys, and MODEL a
model of a stored provider, whatever the provider.

    pip install -r requirements.txt && python langchain_models.py
"""

import os

from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

gateway = os.environ.get("GATEWAY", "http://127.0.0.1:8787")
key = os.environ["GATEWAY_KEY"]
model = os.environ.get("MODEL", "@main/gpt-4o-mini")
prompt = "Hello"

models = {
    "openai": ChatOpenAI(model=model, api_key=key, base_url=f"{gateway}/v1", stream_usage=True),
    "responses": ChatOpenAI(model=model, api_key=key, base_url=f"{gateway}/v1", use_responses_api=True),
    "anthropic": ChatAnthropic(model=model, api_key=key, base_url=gateway, max_tokens=100),
}

for name, one in models.items():
    message = one.invoke(prompt)
    print(f"{name}: {message.text} ({message.usage_metadata['total_tokens']} tokens)")
    streamed = "".join(part.text for part in one.stream(prompt))
    print(f"{name}, streamed: {streamed}")
