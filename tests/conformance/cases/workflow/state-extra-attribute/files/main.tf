resource "terraform_data" "w" {
  input = "a"
}
