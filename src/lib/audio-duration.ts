// The length of audio files, by their headers. Each reader looks at a bounded part of the file.

/** Most bytes that are searched for a header, and most at the end of a file. */
const maxSearched = 64 * 1024;

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whether ASCII text stands at an offset. */
function hasText(bytes: Uint8Array, at: number, text: string): boolean {
  if (at < 0 || at + text.length > bytes.length) return false;
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text.charCodeAt(index)) return false;
  return true;
}

/** RIFF WAVE (https://www.rfc-editor.org/rfc/rfc2361): what follows the header of the data is audio, whatever its size says. */
function ofWav(bytes: Uint8Array): number | undefined {
  if (!hasText(bytes, 0, "RIFF") || !hasText(bytes, 8, "WAVE")) return undefined;
  const view = viewOf(bytes);
  let bytesOfSecond = 0;
  for (let at = 12; at + 8 <= Math.min(bytes.length, maxSearched); ) {
    const size = view.getUint32(at + 4, true);
    if (hasText(bytes, at, "fmt ") && at + 20 <= bytes.length) bytesOfSecond = view.getUint32(at + 16, true);
    if (hasText(bytes, at, "data")) {
      const left = bytes.length - at - 8;
      // streams state no size, or the largest one
      const length = size === 0 || size > left ? left : size;
      return bytesOfSecond > 0 ? length / bytesOfSecond : undefined;
    }
    at += 8 + size + (size % 2);
  }
  return undefined;
}

/** FLAC (https://www.rfc-editor.org/rfc/rfc9639, section 8.2): its first block counts the samples. */
function ofFlac(bytes: Uint8Array): number | undefined {
  if (!hasText(bytes, 0, "fLaC") || bytes.length < 26) return undefined;
  const view = viewOf(bytes);
  const rate = view.getUint32(18) >>> 12;
  const samples = (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
  return rate > 0 && samples > 0 ? samples / rate : undefined;
}

/** The last place of ASCII text in the end of a file. */
function lastIndexOfText(bytes: Uint8Array, text: string): number {
  const end = Math.max(0, bytes.length - maxSearched);
  for (let at = bytes.length - text.length; at >= end; at--) if (hasText(bytes, at, text)) return at;
  return -1;
}

/** Ogg with Opus or Vorbis (https://www.rfc-editor.org/rfc/rfc3533, section 6): its last page has the last sample. */
function ofOgg(bytes: Uint8Array): number | undefined {
  if (!hasText(bytes, 0, "OggS") || bytes.length < 28) return undefined;
  const view = viewOf(bytes);
  const start = 27 + view.getUint8(26);
  const isOpus = hasText(bytes, start, "OpusHead") && start + 12 <= bytes.length;
  const isVorbis = hasText(bytes, start, "\u0001vorbis") && start + 16 <= bytes.length;
  const last = lastIndexOfText(bytes, "OggS");
  if ((!isOpus && !isVorbis) || last < 0 || last + 14 > bytes.length) return undefined;
  const samples = Number(view.getBigInt64(last + 6, true));
  // Opus counts 48,000 samples a second, and skips some (https://www.rfc-editor.org/rfc/rfc7845, section 5.1)
  const [rate, skipped] = isOpus ? [48_000, view.getUint16(start + 10, true)] : [view.getUint32(start + 12, true), 0];
  return rate > 0 && samples > skipped ? (samples - skipped) / rate : undefined;
}

/** Kilobits a second of layer III, of version 1 and of versions 2 and 2.5. */
const bitRates = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const sampleRates = [44_100, 48_000, 32_000] as const;

/** What the header of an MPEG audio frame says (ISO/IEC 11172-3, section 2.4.1.3). */
interface Frame {
  bitRate: number;
  sampleRate: number;
  /** Samples in each frame. */
  samples: number;
  /** Bytes between the header and its audio data. */
  side: number;
}

function frameAt(view: DataView, at: number): Frame | undefined {
  if (at + 4 > view.byteLength) return undefined;
  const header = view.getUint32(at);
  const version = (header >>> 19) & 3;
  const isLayer3 = ((header >>> 17) & 3) === 1;
  if (header >>> 21 !== 0x7ff || version === 1 || !isLayer3) return undefined;
  const isFirst = version === 3;
  const bitRate = bitRates[isFirst ? 0 : 1][(header >>> 12) & 15];
  const rate = sampleRates[(header >>> 10) & 3];
  if (!bitRate || rate === undefined) return undefined;
  const isMono = ((header >>> 6) & 3) === 3;
  const side = isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  const divisor = isFirst ? 1 : version === 2 ? 2 : 4;
  return { bitRate: bitRate * 1_000, sampleRate: rate / divisor, samples: isFirst ? 1_152 : 576, side };
}

/** Where the audio begins behind an ID3 tag (https://id3.org/id3v2.4.0-structure, section 3.1). */
function afterTag(bytes: Uint8Array): number {
  if (!hasText(bytes, 0, "ID3") || bytes.length < 10) return 0;
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
  return 10 + ((a & 127) << 21) + ((b & 127) << 14) + ((c & 127) << 7) + (d & 127);
}

/** MP3: by the count of frames that encoders note in the first one, else by its bit rate. */
function ofMp3(bytes: Uint8Array): number | undefined {
  const view = viewOf(bytes);
  const start = afterTag(bytes);
  for (let at = start; at < Math.min(bytes.length, start + maxSearched); at++) {
    const frame = bytes[at] === 0xff ? frameAt(view, at) : undefined;
    if (!frame) continue;
    const note = at + 4 + frame.side;
    const isNoted = hasText(bytes, note, "Xing") || hasText(bytes, note, "Info");
    const hasFrames = isNoted && note + 12 <= bytes.length && (view.getUint32(note + 4) & 1) === 1;
    if (hasFrames) return (view.getUint32(note + 8) * frame.samples) / frame.sampleRate;
    return ((bytes.length - at) * 8) / frame.bitRate;
  }
  return undefined;
}

/** Seconds of a WAV, FLAC, Ogg or MP3 file; undefined where its header does not say. */
export function audioSeconds(bytes: Uint8Array): number | undefined {
  const seconds = ofWav(bytes) ?? ofFlac(bytes) ?? ofOgg(bytes) ?? (isContainer(bytes) ? undefined : ofMp3(bytes));
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

/** Whether a file has another format, in which the bytes of a frame of MP3 mean nothing. */
function isContainer(bytes: Uint8Array): boolean {
  return !hasText(bytes, 0, "ID3") && bytes[0] !== 0xff;
}
