resource "terraform_data" "a" {
  connection {
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      host = "h"
    }
  }
}
