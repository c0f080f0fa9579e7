"""Says of each request on standard input whether Mistral's validator refuses it: a JSON list of reasons, null where it takes it."""

import json
import sys

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from pydantic import ValidationError


def plain(part):
    """A part in the form of the library, whose thinking is a text."""
    if part.get("type") != "thinking":
        return part
    return {**part, "thinking": "".join(one["text"] for one in part["thinking"]), "closed": True}


def message(given):
    content = given.get("content")
    return {**given, "content": [plain(part) for part in content]} if isinstance(content, list) else given


def reason(case):
    request = case["request"]
    try:
        read = ChatCompletionRequest.model_validate({**request, "messages": [message(one) for one in request["messages"]]})
        get_validator(TokenizerVersion(f"v{case['version']}"), ValidationMode.serving).validate_request(read)
    except (MistralCommonException, ValidationError, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None


json.dump([reason(case) for case in json.load(sys.stdin)], sys.stdout)
