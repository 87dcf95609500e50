resource "terraform_data" "t" {
}
resource "terraform_data" "u" {
  input = terraform_data.t.id
}
