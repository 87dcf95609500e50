resource "terraform_data" "a" {
  inptu = 1
}
