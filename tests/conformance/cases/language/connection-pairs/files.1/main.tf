resource "terraform_data" "a" {
  connection {
    host = var.none
    user = var.none2
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      host = "h"
    }
  }
}
