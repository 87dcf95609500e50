resource "terraform_data" "fine" {
  lifecycle { ignore_changes = [output] }
}
resource "terraform_data" "arguments" {
  input = tonumber("x")
  lifecycle { ignore_changes = [output] }
}
resource "terraform_data" "count" {
  count = -1
  lifecycle { ignore_changes = [output] }
}
resource "terraform_data" "each" {
  for_each = ["a"]
  lifecycle { ignore_changes = [output] }
}
