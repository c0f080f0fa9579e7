import type { Principal } from "../auth/principal.ts";
import type { ByteBudget, ByteHold, ByteOwner } from "../lib/byte-budget.ts";

/** Dependencies for holding bodies. */
interface HeldParts {
  readonly bodies: ByteBudget;
  readonly limits: { readonly heldBodyBytes: number; readonly heldBodyBytesPerKey: number };
}

/** A request, with or without a known caller. */
interface Holder {
  principal?: Principal;
  readonly log: { readonly settled: boolean };
  /** Memory held for its bodies; absent until one needs it. */
  hold?: ByteHold | undefined;
}

/** Owners of a request's bodies: all callers without a key share the quota of one key. */
function ownersOf({ principal }: Holder, { limits }: HeldParts): ByteOwner[] {
  const { heldBodyBytes, heldBodyBytesPerKey } = limits;
  if (!principal) return [{ name: "no key", bytes: heldBodyBytesPerKey }];
  return [
    { name: `organisation ${principal.organisationId}`, bytes: heldBodyBytes / 2 },
    { name: `key ${principal.organisationId} ${principal.keyId}`, bytes: heldBodyBytesPerKey },
  ];
}

/** Memory for the bodies of a request, released when the request ends. */
function openHold(context: Holder, parts: HeldParts): ByteHold {
  const hold = parts.bodies.open(ownersOf(context, parts));
  // a body that is read after the end of the request was abandoned, and nothing would release its memory
  if (context.log.settled) hold.release();
  context.hold = hold;
  return hold;
}

/** Reserves memory while a body is read, for `readBytes`: small bodies need none. */
export function reserveBody(context: Holder, parts: HeldParts): (bytes: number) => Promise<void> | undefined {
  let reserved = 0;
  return (bytes) => {
    const hold = context.hold ?? openHold(context, parts);
    const more = bytes - reserved;
    reserved = bytes;
    return hold.resize(hold.bytes + more);
  };
}

/** Releases the memory of all bodies of a request. */
export function releaseBodies({ hold }: Holder): void {
  hold?.release();
}
