import { type Api, listAll } from "./api.ts";
import { withMasks } from "./compare.ts";
import type { Fields, SectionName } from "./document.ts";

/** Whose records are read or written. */
export interface Place {
  /** Id and slug of a workspace; null for the organisation. */
  readonly id: string | null;
  readonly slug: string | null;
}

/** A record as it is stored. */
export interface Stored {
  readonly id: string;
  /** As a file would have them. Secrets are masks. */
  readonly fields: Fields;
  /** It is archived: it counts as absent, and its name is taken. */
  readonly isArchived?: boolean;
  /** Other records have the same name: none of them can be meant. */
  readonly isAmbiguous?: boolean;
}

/** What reading needs. */
export interface Reader {
  readonly api: Api;
  readonly place: Place;
  /** Names of records by their ids, as far as they were read. */
  readonly names: Map<string, string>;
}

/** Finds the id of a record by its section and name, in the place that is written. */
type FindId = (section: SectionName, name: string) => string;

/** What writing needs. */
export interface Writer {
  readonly api: Api;
  readonly place: Place;
  readonly findId: FindId;
  /** Takes a secret that is shown once. */
  readonly takeSecret: (name: string, place: Place, secret: string) => void;
}

/** A record that is written: its name, and all its fields as the file says, defaults included. */
export interface Wanted {
  readonly name: string;
  readonly fields: Fields;
}

/** A kind of record that a file can declare. */
export interface Kind {
  readonly section: SectionName;
  /** With an article. */
  readonly one: string;
  /** Fields that cannot change. */
  readonly fixed: readonly string[];
  /** A record whose fixed fields differ may be removed and made again. */
  readonly isReplaceable: boolean;
  /** What a file says of a record, in the form in which it is compared: absent fields have their defaults. */
  toFields(name: string, given: Fields): Fields;
  /** Fields as a file has them: those with their default are left out. */
  toDeclared(name: string, fields: Fields): Fields;
  list(reader: Reader): Promise<[name: string, stored: Stored][]>;
  create(writer: Writer, wanted: Wanted): Promise<void>;
  change(writer: Writer, wanted: Wanted, stored: Stored): Promise<void>;
  remove(writer: Writer, name: string, stored: Stored): Promise<void>;
}

/** What differs between kinds. */
interface KindDefinition extends Pick<Kind, "section" | "one"> {
  /** Path of the list, below `/v1`. */
  readonly path: string;
  /** What paths and files name a record by. */
  readonly by: "slug" | "name";
  readonly fixed?: readonly string[];
  readonly isReplaceable?: boolean;
  /** Values of fields that a file does not give. Null where it does not say. */
  readonly defaults: Fields;
  /** Query of the list, besides the place. */
  readonly query?: Readonly<Record<string, string>>;
  /** Records of the list that count. */
  isOwn?(shown: Fields, reader: Reader): boolean;
  /** More of a record than the list has. */
  readMore?(reader: Reader, shown: Fields): Promise<Fields>;
  /** A record that is shown, with the fields of a file. */
  toShown?(shown: Fields, reader: Reader): Fields;
  /** Fields of a file in the form in which they are compared; they have their defaults. */
  toNormal?(fields: Fields): Fields;
  /** Fields as a body takes them. @param stored Absent for a new record. */
  toBody?(fields: Fields, writer: Writer, stored?: Stored): Fields;
  /** What follows the record itself. */
  after?(writer: Writer, wanted: Wanted, stored: Stored | undefined): Promise<void>;
}

/** The place of a call, in its query. */
export const placeQuery = ({ slug }: Place): Record<string, string> => (slug === null ? {} : { workspace_id: slug });

const withQuery = (path: string, query: Readonly<Record<string, string>>) => {
  const search = new URLSearchParams(query).toString();
  return search === "" ? path : `${path}?${search}`;
};

/** Lists the records of a kind. */
async function listKind(definition: KindDefinition, reader: Reader): Promise<[string, Stored][]> {
  const { path, by, query = {}, isOwn = () => true, readMore, toShown = (shown) => shown } = definition;
  const { api, place, names } = reader;
  const rows = (await listAll(api, path, { ...placeQuery(place), ...query })).filter((row) => isOwn(row, reader));
  // records may name each other
  for (const row of rows) names.set(String(row.id), String(row[by]));
  const found = new Map<string, Stored>();
  for (const row of rows) {
    const name = String(row[by]);
    const id = String(row.id);
    const shown = readMore ? { ...row, ...(await readMore(reader, row)) } : row;
    const fields = complete(definition, name, toShown(shown, reader));
    const isArchived = row.status === "archived";
    const isAmbiguous = found.has(name);
    found.set(name, { id, fields, ...(isArchived && { isArchived }), ...(isAmbiguous && { isAmbiguous }) });
  }
  return [...found];
}

/** Fields with their defaults, in the form in which they are compared. */
function complete(
  { defaults, by, toNormal = (fields) => fields }: KindDefinition,
  name: string,
  given: Fields,
): Fields {
  const known = by === "slug" ? { name, ...defaults } : defaults;
  const fields = Object.fromEntries(Object.keys(known).map((field) => [field, given[field] ?? known[field] ?? null]));
  return toNormal(fields);
}

/** A record as a file has it. */
function toDeclared(definition: KindDefinition, name: string, fields: Fields): Fields {
  const defaults = complete(definition, name, {});
  const isDefault = ([field, value]: [string, unknown]) => JSON.stringify(value) === JSON.stringify(defaults[field]);
  return Object.fromEntries(Object.entries(fields).filter((entry) => !isDefault(entry)));
}

/** Declares a kind. */
export function defineKind(definition: KindDefinition): Kind {
  const { section, one, path, by, fixed = [], isReplaceable = false, toBody = (fields) => fields, after } = definition;
  const pathOf = (name: string, { id }: Stored) => `${path}/${encodeURIComponent(by === "slug" ? name : id)}`;
  return {
    section,
    one,
    fixed,
    isReplaceable,
    toFields: (name, given) => complete(definition, name, given),
    toDeclared: (name, fields) => toDeclared(definition, name, fields),
    list: (reader) => listKind(definition, reader),
    async create(writer, wanted) {
      const { api, place } = writer;
      const body = { [by]: wanted.name, ...toBody(wanted.fields, writer), ...placeQuery(place) };
      await api({ method: "POST", path, body, isNew: by === "name" });
      await after?.(writer, wanted, undefined);
    },
    async change(writer, { name, fields: given }, stored) {
      const { api, place } = writer;
      // secrets whose variables are not set stay
      const fields = withMasks(given, stored.fields) as Fields; // of the same shape
      const entries = Object.entries(toBody(fields, writer, stored)).filter(([field]) => !fixed.includes(field));
      const body = { ...Object.fromEntries(entries), ...placeQuery(place) };
      await api({ method: "PUT", path: pathOf(name, stored), body });
      await after?.(writer, { name, fields }, stored);
    },
    async remove({ api, place }, name, stored) {
      await api({ method: "DELETE", path: withQuery(pathOf(name, stored), placeQuery(place)) });
    },
  };
}
