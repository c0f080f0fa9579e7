import type { Principal } from "../auth/principal.ts";
import type { ByteBudget, ByteHold, ByteOwner } from "../lib/byte-budget.ts";

/** What room for bodies is asked with. */
interface HeldParts {
  readonly bodies: ByteBudget;
  readonly limits: { readonly heldBodyBytes: number; readonly heldBodyBytesPerKey: number };
}

/** A request, its caller known or not. */
interface Holder {
  principal?: Principal;
  readonly log: { readonly settled: boolean };
  /** Room of all its bodies; absent until one asks. */
  hold?: ByteHold | undefined;
}

/** Who bodies of a request are held for: all who sent no key share what one key gets. */
function ownersOf({ principal }: Holder, { limits }: HeldParts): ByteOwner[] {
  const { heldBodyBytes, heldBodyBytesPerKey } = limits;
  if (!principal) return [{ name: "no key", bytes: heldBodyBytesPerKey }];
  return [
    { name: `organisation ${principal.organisationId}`, bytes: heldBodyBytes / 2 },
    { name: `key ${principal.organisationId} ${principal.keyId}`, bytes: heldBodyBytesPerKey },
  ];
}

/** Room for the bodies of a request, given back when the request is over. */
function openHold(context: Holder, parts: HeldParts): ByteHold {
  const hold = parts.bodies.open(ownersOf(context, parts));
  // what begins to be read when the request is over is given up already, and nobody would give its room back
  if (context.log.settled) hold.release();
  context.hold = hold;
  return hold;
}

/** Makes room for a body while it is read, as `readBytes` asks for it: small bodies never ask. */
export function reserveBody(context: Holder, parts: HeldParts): (bytes: number) => Promise<void> | undefined {
  let reserved = 0;
  return (bytes) => {
    const hold = context.hold ?? openHold(context, parts);
    const more = bytes - reserved;
    reserved = bytes;
    return hold.resize(hold.bytes + more);
  };
}

/** Gives back the room all bodies of a request took. */
export function releaseBodies({ hold }: Holder): void {
  hold?.release();
}
