export default function Page() {
  return <p>This page is ours</p>;
}
