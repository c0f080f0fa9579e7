/** What a model reads of a call of the client's that it made beside a search. */
export const notRun = "This call was not run, because it was made beside a web search. Call it again if you need it.";

/** What stands between the text of two rounds. */
const separator = "\n\n";

/** The text of two rounds as one; undefined without any. */
export function joinText(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || one === "") return other ?? one;
  return other === undefined || other === "" ? one : `${one}${separator}${other}`;
}

/** The first text of a round, as it follows those of earlier rounds. */
export function afterEarlier(earlier: string | undefined, text: string): string {
  return earlier === undefined || earlier === "" ? text : `${separator}${text}`;
}
