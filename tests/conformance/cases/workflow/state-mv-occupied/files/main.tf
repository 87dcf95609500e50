resource "terraform_data" "a" {
  count = 2
}
resource "terraform_data" "k" {
  for_each = toset(["x"])
}
resource "terraform_data" "s" {
}
