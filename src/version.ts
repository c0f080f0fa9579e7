/** Version of this program: the one of package.json. */
export const version = "0.1.0";

/** Version of the HTTP API that `/openapi.json` describes. */
export const apiVersion = "3.0.0";
