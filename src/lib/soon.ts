/** A value, or the promise of one: work that waits for nothing needs no turn of the event loop. */
export type Soon<Value> = Value | Promise<Value>;
