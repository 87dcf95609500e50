resource "terraform_data" "only" {
  for_each = toest(["a"])
  input    = each.value
}
