/** A field name in snake_case: configs accept `customHost` for `custom_host`. */
export function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
