// Loaded when the first page of any resource is opened.
export { ResourceDetail } from "./detail.tsx";
export { ResourceCreate, ResourceEdit } from "./editor.tsx";
export { ResourceList } from "./list.tsx";
