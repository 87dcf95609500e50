resource "terraform_data" "x" {
  input = var.gone
  count = 1
  for_each = {}
}
