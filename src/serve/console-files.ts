/**
 * Files of the console that are part of the program, as paths to read them from by their names. The compiled program has
 * them (scripts/compile.ts puts them here); elsewhere they are read from the folder of the build.
 */
export const embeddedFiles: ReadonlyMap<string, string> | undefined = undefined as
  | ReadonlyMap<string, string>
  | undefined;
