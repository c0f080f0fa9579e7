/** Concatenates chunks; a single chunk is returned without a copy. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (only && pieces.length === 1) return only;
  const joined = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let position = 0;
  for (const piece of pieces) {
    joined.set(piece, position);
    position += piece.length;
  }
  return joined;
}
