/** A value, or the promise of one: work that waits for nothing needs no turn of the event loop. */
export type Soon<Value> = Value | Promise<Value>;

/** Values that are all there, or the promise of all. */
export function allSoon<Value>(values: Soon<Value>[]): Soon<Value[]> {
  const isReady = (list: Soon<Value>[]): list is Value[] => !list.some((value) => value instanceof Promise);
  return isReady(values) ? values : Promise.all(values);
}

/** Does something with each item, one after the other. */
export function eachSoon<Item, Result>(items: readonly Item[], act: (item: Item) => Soon<Result>): Soon<Result[]> {
  const done: Result[] = [];
  const goOn = async (waited: Promise<Result>): Promise<Result[]> => {
    done.push(await waited);
    while (done.length < items.length) done.push(await act(items[done.length] as Item)); // within the list
    return done;
  };
  for (const item of items) {
    const result = act(item);
    if (result instanceof Promise) return goOn(result);
    done.push(result);
  }
  return done;
}
