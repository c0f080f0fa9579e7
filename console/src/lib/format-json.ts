const openers: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

/** Whether a text is JSON. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * JSON with one member a line. Strings and numbers stay as they were written, so that integers beyond 2^53 keep their
 * digits. A text that is no JSON stays as it is.
 */
export function formatJson(text: string): string {
  if (!isJson(text)) return text;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let depth = 0;
  let written = "";
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [index, token] of tokens.entries()) {
    const isEmpty = tokens[index + 1] === openers[token];
    if (token in openers) {
      if (!isEmpty) depth++;
      written += isEmpty ? token : token + line();
    } else if (token === "}" || token === "]") {
      const wasEmpty = openers[tokens[index - 1] ?? ""] === token;
      if (!wasEmpty) depth--;
      written += wasEmpty ? token : line() + token;
    } else if (token === ",") written += token + line();
    else if (token === ":") written += ": ";
    else written += token;
  }
  return written;
}
