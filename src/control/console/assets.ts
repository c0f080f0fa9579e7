/** The compressed form of a file, by the name of its content coding. */
export interface PackedAsset {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A file of the console. */
export interface ConsoleAsset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, compressed, as far as that was made at build. */
  readonly packed: readonly PackedAsset[];
  readonly contentType: string;
  /** Entity tag of all of these forms, which is weak for that reason (RFC 9110, section 8.8.1). */
  readonly etag: string;
}

/** The files that the build of the console made. */
export interface ConsoleAssets {
  /** A file by its path below the folder of the build, such as `assets/index-abc.js`; undefined if it does not exist. */
  find(name: string): Promise<ConsoleAsset | undefined>;
}
