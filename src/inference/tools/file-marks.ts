/** A file that a search found. */
export interface FoundFile {
  readonly file_id: string;
  readonly filename: string;
}

/** A place of a text where the model cites a file. */
interface FileCitation extends FoundFile {
  /** Where the mark stood, in UTF-16 code units of the text without marks. */
  readonly index: number;
}

/** Longest text between the number and the end of a mark. */
const maxLabel = 100;
/** Most citations of a text. */
const maxCitations = 200;

/** A mark of a citation in a text of the model, such as `【1†source】`, with the space before it. */
const mark = new RegExp(` ?【(\\d{1,4})†[^【】\\n]{0,${maxLabel}}】`, "g");
/** What may be the beginning of a mark, at the end of a text. */
const beginning = new RegExp(` ?(?:【(?:\\d{0,4}|\\d{1,4}†[^【】\\n]{0,${maxLabel}}))?$`);
/** Characters that a beginning of a mark has at most. */
const maxBeginning = maxLabel + 7;

/** The mark of a citation of a file. */
export function toMark(number: number): string {
  return `【${number}†source】`;
}

/** A text of a file without signs that a model could take, and repeat, as marks of other files. */
export function withoutMarks(text: string): string {
  return text.replaceAll(/【(?=\s{0,8}\d{1,8}\s{0,8}†)/g, "[");
}

/** Takes the marks of citations out of a text that comes in pieces. */
export class MarkCutter {
  readonly citations: FileCitation[] = [];
  readonly #files: ReadonlyMap<number, FoundFile>;
  /** Marks that were taken out: where they stood in the given text, and their lengths. */
  readonly #gaps: { at: number; length: number }[] = [];
  #held = "";
  #taken = 0;
  #given = 0;

  /** @param files The files by the numbers of their marks. Marks with other numbers stay. */
  constructor(files: ReadonlyMap<number, FoundFile>) {
    this.#files = files;
  }

  /** The text of a piece, and of what was held before; what may begin a mark is held. */
  push(piece: string): string {
    const text = this.#held + piece;
    const end = text.slice(-maxBeginning);
    const length = beginning.exec(end)?.[0].length ?? 0;
    this.#held = text.slice(text.length - length);
    return this.#cut(text.slice(0, text.length - length));
  }

  /** The text that is still held. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return this.#cut(rest);
  }

  #cut(text: string): string {
    const start = this.#given;
    this.#given += text.length;
    let from = 0;
    let shown = "";
    for (const { 0: whole, 1: number, index } of text.matchAll(mark)) {
      const file = this.#files.get(Number(number));
      if (!file) continue;
      shown += text.slice(from, index);
      from = index + whole.length;
      this.#gaps.push({ at: start + index, length: whole.length });
      if (this.citations.length < maxCitations) this.citations.push({ ...file, index: this.#taken + shown.length });
    }
    shown += text.slice(from);
    this.#taken += shown.length;
    return shown;
  }

  /** A place of the given text as a place of the text without marks. */
  toPlace(index: number): number {
    const lengths = this.#gaps.map(({ at, length }) => Math.min(length, Math.max(0, index - at)));
    return index - lengths.reduce((sum, length) => sum + length, 0);
  }
}
