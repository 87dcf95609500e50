resource "terraform_data" "l" {
  for_each = toset(["d", "x"])
}
