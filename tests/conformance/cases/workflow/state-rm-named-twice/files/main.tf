resource "terraform_data" "m" {
  count = 2
}
