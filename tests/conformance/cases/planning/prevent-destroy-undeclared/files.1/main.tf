resource "terraform_data" "a" {
  input = 2
  lifecycle {
    prevent_destroy = terraform_data.nope.id
  }
}
