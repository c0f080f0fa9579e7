/** Arguments cannot be sent. The message is for the model. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}
