const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Whether a text names a saved config, by its slug or its id; any other one is a config itself. */
export function namesSavedConfig(text: string): boolean {
  return text.startsWith("pc-") || uuidForm.test(text);
}
