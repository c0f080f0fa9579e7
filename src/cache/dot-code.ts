// The module of `dot-kernel.ts`, written out in WebAssembly's binary format
// (https://webassembly.github.io/spec/core/binary/). As text, one function of it is:
//
//   (func (export "dots") (param $row i32) (param $width i32) (param $out i32) (param $last i32)
//     loop                                ;; over rows
//       q = 0; end = $row + $width; even = odd = 0
//       loop                              ;; over 16 numbers of the row
//         even += dot(row[0..8], q[0..8]); odd += dot(row[8..16], q[8..16])
//         $row += 16; q += 32
//         br_if $row < end
//       end
//       even += odd; out[0] = the sum of the four lanes of even
//       $out += 4
//       br_if $out < $last
//     end)

/** A number as LEB128. */
function number(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...number(value >>> 7)];
}

/** Bytes behind their length. */
const sized = (bytes: readonly number[]) => [...number(bytes.length), ...bytes];
const name = (text: string) => sized([...new TextEncoder().encode(text)]);
const section = (id: number, content: readonly number[]) => [id, ...sized(content)];

const i32 = 0x7f;
const v128 = 0x7b;
const noResult = 0x40;

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
/** @param value Below 64: the sign is the seventh bit. */
const constant = (value: number) => [0x41, value];
const add = [0x6a];
const isBelow = [0x49];
const store = [0x36, 2, 0];
const end = [0x0b];
const loop = (body: readonly number[]) => [0x03, noResult, ...body, ...end];
/** Goes on with the loop around it if the value on the stack is not 0. */
const again = [0x0d, 0];

const simd = (code: number, ...operands: number[]) => [0xfd, ...number(code), ...operands];
const load = (offset: number) => simd(0x00, 0, offset);
/** Eight 8-bit numbers as 16-bit ones. */
const loadWide = (offset: number) => simd(0x01, 0, offset);
const zeros = simd(0x0c, ...new Array<number>(16).fill(0));
const lane = (index: number) => simd(0x1b, index);
const addLanes = simd(0xae);
/** Products of 16-bit numbers, added in pairs. */
const multiplyAdd = simd(0xba);

const [row, width, out, last, position, rowEnd, even, odd] = [0, 1, 2, 3, 4, 5, 6, 7];

const advance = (local: number, by: number) => [get(local), constant(by), add, set(local)].flat();
const accumulate = (sum: number, offset: number) =>
  [get(sum), get(row), loadWide(offset), get(position), load(2 * offset), multiplyAdd, addLanes, set(sum)].flat();
const isBefore = (local: number, bound: number) => [get(local), get(bound), isBelow, again].flat();

const dotOfRow = loop(
  [accumulate(even, 0), accumulate(odd, 8), advance(row, 16), advance(position, 32), isBefore(row, rowEnd)].flat(),
);
const sumOfLanes = [[get(even), lane(0)], [1, 2, 3].map((index) => [get(even), lane(index), add].flat())].flat(2);
const dots = loop(
  [
    [constant(0), set(position), get(row), get(width), add, set(rowEnd)],
    [zeros, set(even), zeros, set(odd), dotOfRow],
    [get(even), get(odd), addLanes, set(even)],
    [get(out), sumOfLanes, store, advance(out, 4), isBefore(out, last)],
  ].flat(2),
);

/**
 * A module with a memory, at whose beginning the query stands, and the function `dots(row, width, out, last)`: addresses
 * in bytes, and the numbers of a row, a multiple of 16. It writes the sums of the products of each row and the query from
 * `out` to `last`.
 *
 * @param pages Size of the memory in units of 64 KiB.
 */
export function dotModule(pages: number): Uint8Array<ArrayBuffer> {
  const type = [[0x60], sized([i32, i32, i32, i32]), [0]].flat();
  const locals = [2, 2, i32, 2, v128];
  const parts = [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [1, ...type]),
    section(3, [1, 0]),
    section(5, [1, 0, ...number(pages)]),
    section(7, [[2], name("memory"), [2, 0], name("dots"), [0, 0]].flat()),
    section(10, [1, ...sized([locals, dots, end].flat())]),
  ];
  return Uint8Array.from(parts.flat());
}
