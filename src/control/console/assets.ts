/** A file of the console. */
export interface ConsoleAsset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, compressed with gzip; absent where that was not made at build. */
  readonly gzip?: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** Entity tag of the bytes, with its quotes. */
  readonly etag: string;
}

/** The files that the build of the console made. */
export interface ConsoleAssets {
  /** A file by its path below the folder of the build, such as `assets/index-abc.js`; undefined if it does not exist. */
  find(name: string): Promise<ConsoleAsset | undefined>;
}
