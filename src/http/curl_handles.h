// Owners of what libcurl allocates, and the lines of a request's header, erased from memory when they are freed since
// one of them may have a secret. For the clients built on libcurl; what they accept and how they wait is theirs.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "lazy/crypto.h"
#include "lazy/curl.h"

namespace weft::http {

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using EasyHandle = std::unique_ptr<CURL, FreeEasy>;
using MultiHandle = std::unique_ptr<CURLM, FreeMulti>;

inline void wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

class HeaderLines {
 public:
  // "Name: value"; the text is erased.
  void add(std::string line) {
    curl_slist* longer = curl_slist_append(list_.get(), line.c_str());
    wipe(line);
    if (longer == nullptr) return;
    (void)list_.release();
    list_.reset(longer);
  }
  void clear() { list_.reset(); }
  [[nodiscard]] curl_slist* get() const { return list_.get(); }

 private:
  struct Free {
    void operator()(curl_slist* list) const {
      for (curl_slist* line = list; line != nullptr; line = line->next)
        OPENSSL_cleanse(line->data, std::strlen(line->data));
      curl_slist_free_all(list);
    }
  };
  std::unique_ptr<curl_slist, Free> list_;
};

}  // namespace weft::http
