import { type CodeKind, type SentRequest, writeCode } from "../../lib/request-code.ts";

// The request of a log row as code. The key is a placeholder: the log does not have it.

/** Headers that say who calls or what the client is; the code of a row sets its own. */
const left = /^(x-gateway-)?(api-key|trace-id|virtual-key-id|csrf)$/;

/** What is masked cannot be sent again. */
const isMasked = (value: string): boolean => value.startsWith("hmac:") || value.includes("[masked]");

/** What a row says of its request. */
export interface LoggedRequest {
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  readonly request?: {
    readonly gatewayHeaders?: Readonly<Record<string, string>> | undefined;
    readonly body?: unknown;
  };
}

function readSent({ path = "", method = "", request = {} }: LoggedRequest, origin: string): SentRequest {
  const headers = Object.entries(request.gatewayHeaders ?? {})
    .map(([name, value]) => [`x-gateway-${name}`, String(value)] as const)
    .filter(([name, value]) => !left.test(name) && !isMasked(value));
  return { origin, path, method: method || "POST", headers, body: request.body };
}

/**
 * The request of a row as code that sends it again.
 *
 * @param origin Address of the gateway.
 */
export function toCode(kind: CodeKind, row: LoggedRequest, origin: string): string {
  return writeCode(kind, readSent(row, origin));
}
