resource "terraform_data" "a" {
  connection {
    host = var.none
    user = self.none
    port = terraform_data.none.id
  }
}
