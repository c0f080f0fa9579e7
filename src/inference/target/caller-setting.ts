import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";

/**
 * A value of the caller that goes to a provider, in an address or a header.
 *
 * @param param Where it was given.
 * @throws {InvalidRequestError} If it holds the gateway key of the request.
 */
export function withoutKey<Value extends string | null | undefined>(
  value: Value,
  param: string,
  { gatewayKey }: CallerContext,
): Value {
  if (!value?.includes(gatewayKey)) return value;
  throw new InvalidRequestError(`Cannot use ${param}: it holds the gateway key, which must not be sent to a provider`, {
    param,
    code: "invalid_header",
  });
}

/**
 * A setting the caller gives in a gateway header, by its name without prefix.
 *
 * @throws {InvalidRequestError} As `withoutKey`.
 */
export function readCallerSetting(context: CallerContext, name: string): string | null {
  return withoutKey(context.header(name), `x-gateway-${name}`, context);
}
