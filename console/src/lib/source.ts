import type { Search } from "./search.ts";

/** Where requests come from, as the filter `source` names it. */
export const withConsole = "gateway,console,custom,otel";
/** What figures count unless the address says otherwise: what people do in the console is not the traffic they look at. */
const withoutConsole = "gateway,custom,otel";

/** The filter `source` of figures, and of links to the rows behind them. */
export const sourceOf = ({ source = "" }: Search): string => (source === "" ? withoutConsole : source);

/** Whether figures count requests of the console. */
export const countsConsole = (search: Search): boolean => sourceOf(search).split(",").includes("console");
