import { isRow, type Row, readPath, readText } from "../../lib/read.ts";
import { type CodeKind, type SentRequest, writeCode } from "../../lib/request-code.ts";

// The request of a log row as code. The key is a placeholder: the log does not have it.

/** Headers that say who calls or what the client is; the code of a row sets its own. */
const left = /^(x-gateway-)?(api-key|trace-id|virtual-key-id|csrf)$/;

/** What is masked cannot be sent again. */
const isMasked = (value: string): boolean => value.startsWith("hmac:") || value.includes("[masked]");

function readSent(row: Row, origin: string): SentRequest {
  const gateway = readPath(row, "request.gatewayHeaders");
  const headers = isRow(gateway)
    ? Object.entries(gateway)
        .map(([name, value]) => [`x-gateway-${name}`, String(value)] as const)
        .filter(([name, value]) => !left.test(name) && !isMasked(value))
    : [];
  return {
    origin,
    path: readText(row, "path"),
    method: readText(row, "method") || "POST",
    headers,
    body: readPath(row, "request.body"),
  };
}

/**
 * The request of a row as code that sends it again.
 *
 * @param origin Address of the gateway.
 */
export function toCode(kind: CodeKind, row: Row, origin: string): string {
  return writeCode(kind, readSent(row, origin));
}
