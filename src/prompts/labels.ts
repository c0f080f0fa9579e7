/** Labels of every workspace, with the same ids everywhere; they cannot be changed or removed. */
export const universalLabels: readonly { id: string; name: string }[] = [
  { id: "5b0c3b5e-9d0f-4c39-8f3f-6a1f0e7c2d01", name: "production" },
  { id: "9a7c1f42-3e58-4b1d-a6d4-2c8e5f9b7a02", name: "staging" },
  { id: "c4e2d8a1-7b36-4f0a-9e1c-8d5b3a6f4e03", name: "development" },
];
