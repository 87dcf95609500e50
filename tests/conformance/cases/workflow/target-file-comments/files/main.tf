resource "terraform_data" "a" {}
resource "terraform_data" "k" {
  for_each = toset(["#1", "//"])
}
