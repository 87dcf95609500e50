resource "terraform_data" "a" {
  connection {
    user = "u"
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      host = "h"
    }
  }
}
